-- @down
drop view forge.forge_workflow_runs;
drop view forge.forge_workflow_steps;

-- @down
drop trigger told_of_status on weft.nodes;
drop trigger told_of_coming on weft.nodes;

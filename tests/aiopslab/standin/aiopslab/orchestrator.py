"""`Orchestrator` as the real one is called: register_agent, init_problem, start_problem."""

import atexit
import os


class Orchestrator:
    def __init__(self):
        self.agent = None
        self.session = None
        self.calls = []

    def register_agent(self, agent, name="agent"):
        self.agent, self.name = agent, name
        self.calls.append("register_agent")

    def init_problem(self, problem_id):
        assert self.agent is not None, "the agent comes first"
        self.calls.append("init_problem")
        if not problem_id.startswith("lab-"):
            raise ValueError(f"Problem ID {problem_id} not found in registry.")
        print("deploying", os.environ.get("KUBECONFIG"))
        self.problem = problem_id
        atexit.register(lambda: None)
        return "a task", "instructions", {"exec_shell": "runs a command"}

    async def start_problem(self, max_steps):
        self.calls.append("start_problem")
        state, history = "Please take the next action", []
        for _ in range(max_steps):
            action = await self.agent.get_action(state)
            history.append(action)
            if action.startswith("submit"):
                break
            state = "observed\nPlease take the next action"
        results = {"lab-detection": {"Detection Accuracy": "Correct", "TTD": 1.5}, "lab-wrong": {"success": False},
                   "lab-right": {"success": True, "odd": object()}}[self.problem]
        return {"history": history, "final_state": "VALID_SUBMISSION", "results": results, "framework_overhead": 0.1,
                "calls": self.calls}

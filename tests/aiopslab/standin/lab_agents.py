"""An agent as AIOpsLab's clients are."""


class Agent:
    def __init__(self):
        self.steps = 0

    def init_context(self, description, instructions, apis):
        self.apis = apis

    async def get_action(self, state):
        self.steps += 1
        return "submit('yes')" if self.steps == 3 else "exec_shell('kubectl get pods')"


class NotAsync(Agent):
    def get_action(self, state):
        return "submit('no')"

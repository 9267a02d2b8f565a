"""An agent for tests of the command line."""

from weft import Agent

agent = Agent()


@agent.handles("hello.Greet")
async def greet(name: str) -> dict[str, str]:
    return {"greeting": f"Hello, {name}"}


@agent.handles("Tell")
def tell(text: str) -> None:
    print(text)

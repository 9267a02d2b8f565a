"""What `weft afl run --agent afl_agents` runs in tests."""

from weft import App

app = App()


@app.task(name="app.Tell", fail_on=Exception)
async def tell(who: str) -> dict[str, str]:
    if who == "nobody":
        raise ValueError("nobody is there")
    return {"said": f"told {who}"}

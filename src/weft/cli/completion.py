"""`weft completion`: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="""\b
Examples:
  eval "$(weft completion bash)"                                   # this shell; ~/.bashrc for all
  eval "$(weft completion zsh)"                                    # ~/.zshrc, after compinit
  weft completion fish > ~/.config/fish/completions/weft.fish"""
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, /, *, shell: str) -> None:
    """Print the script with which a shell completes weft's commands and options."""
    found = get_completion_class(shell)
    assert found is not None  # click has all three
    click.echo(found(ctx.find_root().command, {}, "weft", "_WEFT_COMPLETE").source())

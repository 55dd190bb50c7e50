"""`authbench completion SHELL`."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the shell's completion script.

    \b
    Example:
      authbench completion bash > ~/.local/share/bash-completion/completions/authbench
    """
    from click.shell_completion import get_completion_class

    from authbench.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(kind(cli, {}, "authbench", "_AUTHBENCH_COMPLETE").source())

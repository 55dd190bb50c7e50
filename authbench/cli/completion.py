"""`authbench completion SHELL`."""

from __future__ import annotations

import click

from authbench.cli.common import output_options, print_json


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@output_options
def command(shell: str, quiet: bool, as_json: bool) -> None:
    """Print the shell's completion script.

    \b
    Examples:
      authbench completion bash > ~/.local/share/bash-completion/completions/authbench
      authbench completion zsh > "${fpath[1]}/_authbench"
      authbench completion fish > ~/.config/fish/completions/authbench.fish
    """
    from click.shell_completion import get_completion_class

    from authbench.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    script = kind(cli, {}, "authbench", "_AUTHBENCH_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)

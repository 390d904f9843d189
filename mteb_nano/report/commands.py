"""The command line of this package: options and help; each `run` is a few calls of the library."""

from typing import TYPE_CHECKING

from mteb_nano.report.command_agreement import add_agreement
from mteb_nano.report.command_compare import add_compare
from mteb_nano.report.command_leaderboard import add_leaderboard
from mteb_nano.report.command_report import add_report
from mteb_nano.report.command_submit import add_submit

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register every subcommand; each sets `run(args) -> int` as its default."""
    add_report(subparsers)
    add_compare(subparsers)
    add_agreement(subparsers)
    add_leaderboard(subparsers)
    add_submit(subparsers)

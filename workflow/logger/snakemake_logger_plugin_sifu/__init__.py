"""Snakemake's events as one line of progress, for `python -m sifu run`. Its own scroll goes to .snakemake/log."""

from __future__ import annotations

import logging

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from sifu.cli.run_display import open_display
from sifu.cli.run_progress import RunningJob


class LogHandler(LogHandlerBase):
    """Gives every event that concerns a person to the display."""

    writes_to_stream = True  # instead of Snakemake's own handler
    writes_to_file = False
    has_filter = True  # none: events that Snakemake hides are counted, too
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.display = open_display()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self.display.plan(record.stats)
        elif event == LogEvent.JOB_INFO:
            self.display.start(record.jobid, RunningJob(record.rule_name, record.wildcards))
        elif event == LogEvent.JOB_FINISHED:
            self.display.finish(record.job_id)
        elif event == LogEvent.JOB_ERROR:
            self.display.fail(record.jobid, record.log)
        elif record.getMessage().startswith("Nothing to be done"):
            self.display.say("nothing to be done: everything is up to date")
        elif (
            record.levelno >= logging.ERROR and getattr(record, "exception", "") != "RuleException"
        ):  # JOB_ERROR follows
            self.display.error(record.getMessage())

    def close(self) -> None:
        self.display.close()
        super().close()

"""The command that says what a certificate is worth."""

from __future__ import annotations

import argparse

from sifu.cli.commands import CERTIFICATES, Commands
from sifu.errors import ConfigError


def add_certificates(commands: Commands) -> None:
    _add_certify(commands)


def _add_certify(commands: Commands) -> None:
    text = (
        "For noise sigma: the sensitivity that an (epsilon, delta) certificate covers by each rule, and the true delta."
    )
    parser = commands.add(CERTIFICATES, "certify", text, _certify)
    parser.add_argument("--epsilon", type=float, required=True, help="the epsilon that is promised")
    parser.add_argument("--delta", type=float, required=True, help="the delta that is promised")
    parser.add_argument("--sigma", type=float, required=True, help="standard deviation of the noise on each weight")
    parser.add_argument("--num-clients", type=int, default=100, help="the released code's delta is 1 over it")
    parser.add_argument("--beta", type=float, help="smoothness of the loss: print B for it, too")
    parser.add_argument("--mu", type=float, default=0.0, help="strong convexity of the loss (default: 0)")
    parser.add_argument("--client-lr", type=float, default=0.01, help="step size of the clients (default: %(default)s)")


def _certify(parsed: argparse.Namespace) -> None:
    from sifu.certificate.table import print_certificates, print_contraction

    if parsed.num_clients < 2:
        raise ConfigError("--num-clients", parsed.num_clients, "2 or more")
    print_certificates(parsed.epsilon, parsed.delta, parsed.sigma, parsed.num_clients)
    if parsed.beta is not None:
        print_contraction(parsed.beta, parsed.mu, parsed.client_lr)

"""Requests and errors of the clients with which the benchmark measures serving."""

import aiohttp
import loopback
import numpy as np
import pytest

pytest.importorskip("tensorflow_serving")

from elu_zoo.benchmark import load


@pytest.mark.parametrize("status", [200, 503])
def test_rest_clients_send_integers_and_check_the_status(status):
    bodies = []

    class Handler(loopback.Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(b"{}", status)

    images = np.full((1, 1, 1, 1), 7.9)
    with loopback.serve(Handler) as server:
        arguments = f"127.0.0.1:{server.server_port}", "net", images, 2, 7
        if status == 200:
            assert load.time_rest(*arguments).shape == (7,)
            assert bodies == [b'{"instances": [[[[7]]]]}'] * 7
            assert server.requests[0][0] == "/v1/models/net:predict"
        else:
            with pytest.raises(aiohttp.ClientResponseError, match="503"):
                load.time_rest(*arguments)

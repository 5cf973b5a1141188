"""A Ray cluster of two nodes on this machine, each with one CPU, and a server for clients from outside it.

``python ray_cluster.py GPUS`` says of each node that it has so many GPUs. Prints a line of JSON, and ends with its
input.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 1, "num_gpus": int(sys.argv[1]), "object_store_memory": 80 << 20}
os.environ["RAY_memory_monitor_refresh_ms"] = "0"

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
head = {**NODE, "include_dashboard": False, "ray_client_server_port": port}
cluster = Cluster(initialize_head=True, head_node_args=head)
second = cluster.add_node(**NODE)
raylet = second.all_processes["raylet"][0].process.pid
server = cluster.head_node.all_processes["ray_client_server"][0].process.pid
clients = {"address": f"ray://127.0.0.1:{port}", "server": server}
print(json.dumps({"address": cluster.address, "raylet": raylet, "clients": clients}), flush=True)
sys.stdin.read()
cluster.shutdown()

"""A Ray cluster of two nodes on this machine, each with one CPU. Prints a line of JSON, and ends with its input."""

from __future__ import annotations

import json
import os
import sys

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 << 20}
os.environ["RAY_memory_monitor_refresh_ms"] = "0"

cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
second = cluster.add_node(**NODE)
raylet = second.all_processes["raylet"][0].process.pid
print(json.dumps({"address": cluster.address, "raylet": raylet}), flush=True)
sys.stdin.read()
cluster.shutdown()

"""The engine `ray`: Ray actors, each with an inner engine and a copy of the model, on one or many machines.

1. `settings` reads what stands under `engine:`. The model, prompts, capabilities and the store's keys are
   the inner engine's: an instance of it that never loads answers for them.
2. `load` joins a Ray cluster, or starts one for the run, and places the actors (`actors`). Work begins with
   the first that has loaded its model.
3. `completions` hands jobs out to the actors that have room, in chunks that shrink towards the end. What
   runs in an actor (`worker`) takes jobs on and gives what has finished in short calls, so nothing waits
   for the rest of its chunk.
4. Ray restarts an actor that was lost, on another node if need be, and reports its open calls as failed.
   Its jobs go back to the head of the line and so to the others, until it has loaded its model again. A job
   that several actors were lost with is given up: it may be what kills them.
5. `info` says which actors worked, what was lost, and the inner engines' facts.

Restarts and their limit, placement and spreading over nodes are Ray's. Ray Data and Ray Serve were not
taken: a data set of Ray Data is fixed when it starts, while answers lead to further requests here, and
Serve passes on each request by itself, through a web framework that it brings along, where one call of an
actor here carries up to 64.

Settings and advice: docs/engines-ray.md.
"""

from authbench.engines.ray.engine import RayEngine

__all__ = ["RayEngine"]

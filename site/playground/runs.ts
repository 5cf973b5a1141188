/** Runs requests sequentially in a worker, and stops those that take too long. */
import type { Reply, Request } from "./protocol.js";
import type { RunWorker } from "./sandbox.js";

/** The time limit of a stage, in milliseconds. */
export const LIMIT = 5000;

type Result = Exclude<Reply, { stage: "ready" }>;
export type Stage = "build" | "evaluation" | "proof" | "comparison";
/** True for the stages that leave the verdict of the evaluator as it is. */
export const isLastStage = (stage: Stage): boolean => stage === "proof" || stage === "comparison";
const NEXT = { built: "evaluation", evaluated: "proof", refused: "proof", proved: "comparison" } as const;

export class Runs {
  #worker: RunWorker | undefined;
  #id = 0;
  #stage: Stage | undefined;
  /** True once the worker is loaded; loading counts for no stage. */
  #isReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The latest request that arrived while the worker was busy. */
  #waiting: Request | undefined;

  constructor(
    readonly start: () => RunWorker,
    readonly on: { result(reply: Result): void; stopped(stage: Stage): void },
  ) {
    this.#renew();
  }

  run(request: Omit<Request, "id">): void {
    const nextRequest = { ...request, id: ++this.#id };
    if (this.#stage === undefined) this.#post(nextRequest);
    // Proofs and comparisons are the last stages, and they concern the text before the change.
    else if (isLastStage(this.#stage)) {
      this.#renew();
      this.#post(nextRequest);
    } else this.#waiting = nextRequest;
  }

  #post(request: Request): void {
    this.#worker!.postMessage(request);
    this.#enter("build");
  }

  #enter(stage: Stage | undefined): void {
    clearTimeout(this.#timer);
    this.#stage = stage;
    if (stage && this.#isReady) this.#timer = setTimeout(() => this.#stop(stage), LIMIT);
  }

  #stop(stage: Stage): void {
    this.#renew();
    this.on.stopped(stage);
    this.#runWaiting();
  }

  #renew(): void {
    this.#worker?.terminate();
    this.#enter(undefined);
    this.#isReady = false;
    this.#worker = this.start();
    this.#worker.onmessage = ({ data }) => this.#receive(data);
  }

  #receive(reply: Reply): void {
    if (reply.stage === "ready") {
      this.#isReady = true;
      return this.#enter(this.#stage);
    }
    const isOver = reply.stage === "failed" || reply.stage === "compared";
    this.#enter(isOver ? undefined : NEXT[reply.stage]);
    if (reply.id === this.#id) this.on.result(reply);
    if (isOver) this.#runWaiting();
    // The remaining stages of an outdated run are not needed.
    else if (this.#waiting && reply.stage !== "built") {
      this.#renew();
      this.#runWaiting();
    }
  }

  #runWaiting(): void {
    const nextRequest = this.#waiting;
    this.#waiting = undefined;
    if (nextRequest) this.#post(nextRequest);
  }
}

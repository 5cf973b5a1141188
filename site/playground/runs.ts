/** Runs one request after another in a worker, and stops those that take too long. */
import type { Reply, Request } from "./protocol.js";

/** Milliseconds that a stage of a run may take. */
export const LIMIT = 5000;

type Result = Exclude<Reply, { stage: "ready" }>;
export type Stage = "build" | "evaluation" | "proof";
const NEXT = { built: "evaluation", evaluated: "proof", refused: "proof" } as const;

export class Runs {
  #worker: Worker | undefined;
  #id = 0;
  #stage: Stage | undefined;
  /** Whether the worker is loaded; the time that this takes counts for no stage. */
  #isReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The latest request that came while the worker was busy. */
  #waiting: Request | undefined;

  constructor(
    readonly start: () => Worker,
    readonly on: { result(reply: Result): void; stopped(stage: Stage): void },
  ) {
    this.#renew();
  }

  run(request: Omit<Request, "id">): void {
    const next = { ...request, id: ++this.#id };
    if (this.#stage === undefined) this.#post(next);
    // Proofs are the last stage, and of the text before the change.
    else if (this.#stage === "proof") {
      this.#renew();
      this.#post(next);
    } else this.#waiting = next;
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
    this.#worker.onmessage = ({ data }: MessageEvent<Reply>) => this.#receive(data);
  }

  #receive(reply: Reply): void {
    if (reply.stage === "ready") {
      this.#isReady = true;
      return this.#enter(this.#stage);
    }
    const isOver = reply.stage === "failed" || reply.stage === "proved";
    this.#enter(isOver ? undefined : NEXT[reply.stage]);
    if (reply.id === this.#id) this.on.result(reply);
    if (isOver) this.#runWaiting();
    // The rest of an overtaken run interests nobody.
    else if (this.#waiting && reply.stage !== "built") {
      this.#renew();
      this.#runWaiting();
    }
  }

  #runWaiting(): void {
    const next = this.#waiting;
    this.#waiting = undefined;
    if (next) this.#post(next);
  }
}

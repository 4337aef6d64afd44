// The exit statuses of the command line, one table; docs/guides/command-line.md has the same. Those above 64 are of
// sysexits.h.

export const EXIT = Object.freeze({
  /** Done. */
  OK: 0,
  /**
   * The broker refused: the thing does not exist, it exists already, the broker is not healthy. The message names every
   * change that was made before.
   */
  REFUSED: 1,
  /** The command line is wrong, or a person must confirm the change and no terminal is there. */
  USAGE: 2,
  /** No broker answers, or the broker cannot do it now. A later attempt may succeed. */
  UNAVAILABLE: 69,
  /** A defect of Ketch, here or in the broker. */
  SOFTWARE: 70,
  /** The password is wrong, or the role does not allow it. */
  NO_PERMISSION: 77,
  /** Interrupted by Ctrl-C while it waited for an answer. */
  INTERRUPTED: 130,
})

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command early, with one sentence for people. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly status: ExitStatus
  /** The problem that the broker answered; null without one. */
  readonly problem: object | null

  constructor(
    status: ExitStatus,
    message: string,
    { problem = null, cause }: { problem?: object | null; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.status = status
    this.problem = problem
  }
}

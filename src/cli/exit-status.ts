// The exit statuses of the command line, one table; docs/guides/command-line.md has the same. Those above 64 are of sysexits.h.

export const EXIT = Object.freeze({
  /** Done. */
  OK: 0,
  /** The broker refused: there is no such thing, it exists already, it is not healthy. Nothing was changed that is not said. */
  REFUSED: 1,
  /** The command line is not understood, or asks for something that somebody must confirm. */
  USAGE: 2,
  /** Nobody answers, or whoever does cannot do it at the moment: trying again may help. */
  UNAVAILABLE: 69,
  /** A mistake of ours, here or in the broker. */
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
  /** What the broker said, as it said it. */
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

// The exit statuses of the command line; docs/guides/command-line.md has the same table. 69, 70 and 77 are those of
// sysexits.h.

export const EXIT = Object.freeze({
  /** Done. */
  OK: 0,
  /**
   * The broker refused. For example, the thing does not exist, it exists already, or the broker is not healthy. The
   * message names every change that was made before.
   */
  REFUSED: 1,
  /** The command line is wrong, or the change needs a confirmation and there is no terminal. */
  USAGE: 2,
  /** No broker answers, or the broker cannot do it now. A later attempt may succeed. */
  UNAVAILABLE: 69,
  /** A defect of Ketch, here or in the broker. */
  SOFTWARE: 70,
  /** The password is wrong, or the role of the user does not allow the command. */
  NO_PERMISSION: 77,
  /** The user interrupted the command with Ctrl-C while it waited. */
  INTERRUPTED: 130,
})

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command early, with one sentence for people. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly status: ExitStatus
  /** The problem of RFC 9457 in the broker's answer; null without one. */
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

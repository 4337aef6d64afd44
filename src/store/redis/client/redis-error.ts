// Error replies of Redis. Some of them tell for certain that nothing was done (H29).

/** An error reply. `code` is its first word: OOM, MOVED, NOPERM, ERR ... */
export class RedisError extends Error {
  override readonly name = 'RedisError'
  readonly code: string

  constructor(message: string) {
    super(message)
    this.code = /^[A-Z][A-Z0-9_]*(?= )/.exec(message)?.[0] ?? 'ERR'
  }

  /**
   * True if the server refused to begin: nothing was done, and the same command may succeed later or on another server.
   * False for ERR, WRONGTYPE, NOPERM and other errors that show a mistake or may come from the middle of a Function.
   */
  get isRefusal(): boolean {
    return REFUSALS.has(this.code)
  }
}

/**
 * The codes of the error replies that a server sends before it runs a command (`processCommand` of
 * redis/src/server.c, and the cluster's redirections).
 */
const REFUSALS: ReadonlySet<string> = new Set([
  'ASK',
  'BUSY',
  'CLUSTERDOWN',
  'EXECABORT',
  'LOADING',
  'MASTERDOWN',
  'MISCONF',
  'MOVED',
  'NOAUTH',
  'NOREPLICAS',
  'OOM',
  'READONLY',
  'TRYAGAIN',
])

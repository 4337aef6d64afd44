// The message for an address of the settings that cannot be bound.

import { environmentName } from './sources.ts'

/** The address cannot be bound. The message is ready to print and says what to change. */
export class ListenFailed extends Error {
  override readonly name = 'ListenFailed'
}

export interface Listening {
  /** Completes "cannot listen for …". */
  readonly whom: string
  readonly host: string
  readonly port: number
  /** The full key of the setting that gives the port or the host, and the origin of its value. */
  key(field: 'port' | 'host'): string
  origin(field: 'port' | 'host'): string
}

/** Returns the error for an address that cannot be bound. `error` is the error of the socket's `listen`. */
export function listenFailed(error: NodeJS.ErrnoException, { whom, host, port, key, origin }: Listening): ListenFailed {
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const field = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? 'port' : 'host'
  const example = field === 'host' ? '127.0.0.1' : port < 1024 ? port + 8000 : port + 1
  return new ListenFailed(
    `cannot listen for ${whom} on ${at}: ${whyNot(error)}. ` +
      `The address comes from ${key(field)} (${origin(field)}); take another one with --${key(field)}=${example} ` +
      `or ${environmentName(key(field))}=${example}`,
    { cause: error },
  )
}

function whyNot(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is taken by another process'
    case 'EACCES':
      return 'this user may not bind the port'
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name of the host cannot be resolved'
    default:
      return error.message
  }
}

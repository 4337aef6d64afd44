// Explains in one sentence why a connection to Redis failed. The sentence names the setting to check.

import type { RedisTarget } from '../../../settings/redis-target.ts'
import { RedisError } from './redis-error.ts'
import { MalformedReply } from './reply-reader.ts'

/** Thrown if a server answered but must not be used. The message continues the sentence "Redis at host:port ". */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer'
}

/**
 * Returns true if the server was not reached and may be reachable later; false if a server answered, or the settings
 * are wrong.
 */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof RedisError || error instanceof UnusableServer || error instanceof MalformedReply) return false
  const { code = '' } = error as NodeJS.ErrnoException
  return (
    /^(ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT)$/.test(code) ||
    /no answer within|closed unexpectedly|timeout/i.test(error.message)
  )
}

export function explainFailure(error: unknown, address: string, { keys, tls, host }: RedisTarget): string {
  const server = `Redis at ${address}`
  if (error instanceof UnusableServer) return `${server} ${error.message}`
  if (!(error instanceof Error)) return `${server}: ${error}`
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (error instanceof RedisError) {
    if (error.code === 'NOAUTH') return `${server} wants a password, and ${keys}.password is not set (${error.message})`
    if (error.code === 'WRONGPASS')
      return `${server} does not take ${keys}.username and ${keys}.password, or those of ${keys}.uri (${error.message})`
    if (/without any password configured/.test(error.message))
      return `${server} has no password, and ${keys}.password or ${keys}.uri gives one (${error.message})`
    if (/cluster support disabled/.test(error.message))
      return `${server} is no cluster, and ${keys}.cluster is true; set it to false`
    if (error.code === 'NOPERM')
      return `${server} does not let ${keys}.username run what the broker needs (${error.message})`
    return `${server} refuses the connection: ${error.message}`
  }
  if (error instanceof MalformedReply)
    return `what listens at ${address} does not answer as Redis does (${error.message}); ${keys} says where Redis is`
  if (code === 'ECONNREFUSED') return `nothing listens at ${address} (ECONNREFUSED); ${keys} says where Redis is`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `${host} is not a host that can be found (${code}); ${keys} says where Redis is`
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code))
    return `${server} has a certificate that is not trusted: ${error.message}; add its authority to the system's, or name it in NODE_EXTRA_CA_CERTS`
  if (tls && /wrong version number|packet length|record|EPROTO/i.test(`${error.message} ${code}`))
    return `${server} does not speak TLS, and ${keys}.uri is rediss://; takes redis://`
  if (/closed unexpectedly/.test(error.message) || code === 'ECONNRESET')
    return `${server} closed the connection at once${tls ? '' : `; if it speaks TLS, ${keys}.uri takes rediss://`}`
  if (tls && /no answer|timeout/i.test(error.message))
    return `${server} did not finish a TLS handshake (${error.message}); if it speaks no TLS, ${keys}.uri takes redis://`
  return `${server}: ${error.message}`
}

// The caller of a request, from fastify and the headers of trusted proxies.

import { BlockList, isIP, isIPv4 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from './access.ts'

export function callerOf(request: FastifyRequest, answer: FastifyReply): Caller {
  return {
    address: withoutPort(request.ip ?? ''),
    scheme: request.protocol === 'https' ? 'https' : 'http',
    host: request.host,
    ended: closedSignal(answer),
    cookies: request.cookies,
    query: request.query as Readonly<Record<string, unknown>>,
    header: name => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
  }
}

/**
 * Returns the address without a port. Some proxies write the port into X-Forwarded-For too: with it each connection
 * would be another client.
 */
function withoutPort(address: string): string {
  return address.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
}

/** The reason of an abort. Without one, each answer would make an error with a stack. */
const CLOSED = new Error('the connection has closed, or the answer is complete')

/** Returns a signal that aborts when the connection closes, or when the answer is complete. */
function closedSignal(answer: FastifyReply): AbortSignal {
  const closed = new AbortController()
  answer.raw.once('close', () => closed.abort(CLOSED))
  return closed.signal
}

/**
 * Returns a test whether an address is a trusted proxy, which brings many clients. `networks` are addresses, or
 * networks with `/bits`.
 */
export function trusting(networks: readonly string[]): (address: string) => boolean {
  const proxies = new BlockList()
  for (const network of networks) {
    const [address, bits] = network.split('/') as [string, string?]
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }
  return address => {
    const [bare] = address.split('%') as [string]
    return isIP(bare) > 0 && proxies.check(bare, isIPv4(bare) ? 'ipv4' : 'ipv6')
  }
}

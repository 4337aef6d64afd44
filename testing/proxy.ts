// A TCP proxy that causes faults on demand: delay, throttle, freeze one direction, swallow the next reply, cut after
// a number of bytes, reset, refuse. It needs no privileges and works on any machine. It knows no protocol. It may
// delay bytes or drop the end of a stream, but it never reorders or changes bytes.

import { connect, createServer, type Server, type Socket } from 'node:net'
import { type Clock, sleep, systemClock } from '../src/base/clock.ts'
import { type Random, systemRandom } from '../src/base/random.ts'

export type Direction = 'to-server' | 'to-client'

export interface TcpProxy {
  readonly port: number
  /** The number of open connections. */
  readonly connections: number
  /** Delays every chunk by delayMs and up to jitterMs more; the order stays the same. */
  delay(delayMs: number, jitterMs?: number): void
  /** Limits each direction of each connection to this many bytes a second. */
  throttle(bytesPerSecond: number): void
  /** Holds back the bytes of this direction, on open and new connections, without an error on either side. */
  freeze(direction: Direction): void
  /**
   * Drops the next bytes from the server and resets their connection: the server did its work, but the client gets no
   * reply.
   */
  swallowNextReply(): void
  /**
   * Forwards this many more bytes in this direction, over all connections, then resets the connection that reaches
   * the limit.
   */
  cutAfter(bytes: number, direction: Direction): void
  /** Resets every open connection (RST on both sides). */
  reset(): void
  /** Refuses new connections; open connections continue. */
  refuse(): Promise<void>
  /** Sends new connections to this port; open connections stay as they are. */
  retarget(port: number): void
  /** Ends all faults: held bytes flow again, and the same port accepts new connections. */
  heal(): Promise<void>
  /** Causes one random fault. Resolves with its description for a history. */
  disturb(): Promise<string>
  close(): Promise<void>
}

interface Faults {
  delayMs: number
  jitterMs: number
  bytesPerSecond: number
  frozen: Set<Direction>
  swallow: boolean
  cut: Map<Direction, number>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
}

/** Reading stops while this many bytes wait to be forwarded, so that a frozen link fills up like a real one. */
const HELD_BYTES = 256 * 1024
/** A throttled chunk is sent in steps of this many milliseconds. */
const THROTTLE_STEP_MS = 10

/** Listens on a free port of 127.0.0.1 and forwards to the target. */
export async function startProxy(options: {
  target: { host?: string; port: number }
  clock?: Clock
  random?: Random
  /** Called with the bytes that each client sends and the number of its connection. */
  observe?: (connection: number, bytes: Buffer) => void
}): Promise<TcpProxy> {
  const { target, clock = systemClock, random = systemRandom, observe } = options
  const host = target.host ?? '127.0.0.1'
  let targetPort = target.port
  const links = new Set<Link>()
  let accepted = 0
  const faults: Faults = {
    delayMs: 0,
    jitterMs: 0,
    bytesPerSecond: 0,
    frozen: new Set(),
    swallow: false,
    cut: new Map(),
  }
  let thawed = Promise.withResolvers<void>()

  const resetLink = (link: Link) => {
    links.delete(link)
    resetSocket(link.client)
    resetSocket(link.server)
  }

  /** Resolves with false if the link was reset. */
  const forward = async (link: Link, to: Socket, direction: Direction, chunk: Buffer, arrivedAt: number) => {
    const jitter = faults.jitterMs > 0 ? random.below(faults.jitterMs + 1) : 0
    const waitMs = arrivedAt + faults.delayMs + jitter - clock.monotonic()
    if (waitMs > 0 && faults.delayMs + jitter > 0) await sleep(clock, waitMs)
    while (faults.frozen.has(direction)) await thawed.promise
    if (direction === 'to-client' && faults.swallow) {
      faults.swallow = false
      resetLink(link)
      return false
    }
    const remaining = faults.cut.get(direction)
    if (remaining !== undefined && chunk.length >= remaining) {
      faults.cut.delete(direction)
      links.delete(link)
      // The kernel gets the allowed bytes before the end. So this side closes its socket and does not reset it.
      to.end(chunk.subarray(0, remaining))
      const from = to === link.client ? link.server : link.client
      resetSocket(from)
      return false
    }
    if (remaining !== undefined) faults.cut.set(direction, remaining - chunk.length)
    for (let at = 0; at < chunk.length; ) {
      const rate = faults.bytesPerSecond
      const step = rate > 0 ? Math.max(1, Math.floor((rate * THROTTLE_STEP_MS) / 1000)) : chunk.length
      to.write(chunk.subarray(at, at + step))
      at += step
      if (rate > 0) await sleep(clock, (Math.min(step, chunk.length) * 1000) / rate)
    }
    return true
  }

  const pump = (link: Link, from: Socket, to: Socket, direction: Direction) => {
    let held = 0
    let lane = Promise.resolve(true)
    from.on('data', (chunk: Buffer) => {
      const arrivedAt = clock.monotonic()
      held += chunk.length
      if (held > HELD_BYTES) from.pause()
      lane = lane.then(async open => {
        const still = open && (await forward(link, to, direction, chunk, arrivedAt))
        held -= chunk.length
        if (held <= HELD_BYTES && to.writableLength <= HELD_BYTES) from.resume()
        return still
      })
    })
    to.on('drain', () => held <= HELD_BYTES && from.resume())
    from.on('end', () => void lane.then(open => open && to.end()))
    from.on('error', () => resetLink(link))
    from.on('close', () => {
      if (!to.destroyed && !from.readableEnded) resetLink(link)
      if (to.destroyed) links.delete(link)
    })
  }

  const accept = (client: Socket) => {
    const server = connect({ host, port: targetPort, allowHalfOpen: true, noDelay: true })
    const link: Link = { client, server }
    links.add(link)
    const number = accepted++
    if (observe !== undefined) client.on('data', (bytes: Buffer) => observe(number, bytes))
    client.setNoDelay(true)
    pump(link, client, server, 'to-server')
    pump(link, server, client, 'to-client')
  }

  let listening: Server | null = await listen(accept, 0)
  const address = listening.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy did not get a TCP port')
  const { port } = address

  const proxy: TcpProxy = {
    port,
    get connections() {
      return links.size
    },
    delay(delayMs, jitterMs = 0) {
      faults.delayMs = delayMs
      faults.jitterMs = jitterMs
    },
    throttle(bytesPerSecond) {
      faults.bytesPerSecond = bytesPerSecond
    },
    freeze: direction => void faults.frozen.add(direction),
    swallowNextReply() {
      faults.swallow = true
    },
    cutAfter: (bytes, direction) => void faults.cut.set(direction, bytes),
    reset() {
      for (const link of links) resetLink(link)
    },
    async refuse() {
      const server = listening
      listening = null
      if (server === null) return
      // close() stops listening at once. Its callback would wait for the open connections.
      server.close()
      await new Promise<void>(resolve => clock.soon(resolve))
    },
    retarget(to) {
      targetPort = to
    },
    async heal() {
      Object.assign(faults, { delayMs: 0, jitterMs: 0, bytesPerSecond: 0, swallow: false })
      faults.cut.clear()
      faults.frozen.clear()
      thawed.resolve()
      thawed = Promise.withResolvers<void>()
      listening ??= await listen(accept, port)
    },
    async disturb() {
      const direction: Direction = random.below(2) === 0 ? 'to-server' : 'to-client'
      const amount = random.below(100) + 1
      switch (random.below(7)) {
        case 0:
          proxy.delay(amount, amount)
          return `delay ${amount} to ${2 * amount} ms`
        case 1:
          proxy.throttle(amount * 10_000)
          return `throttle to ${amount * 10_000} bytes a second`
        case 2:
          proxy.freeze(direction)
          return `freeze ${direction}`
        case 3:
          proxy.swallowNextReply()
          return 'swallow the next reply'
        case 4:
          proxy.cutAfter(amount * 1000, direction)
          return `cut after ${amount * 1000} bytes ${direction}`
        case 5:
          proxy.reset()
          return 'reset every connection'
        default:
          await proxy.refuse()
          return 'refuse new connections'
      }
    },
    async close() {
      await proxy.refuse()
      faults.frozen.clear()
      thawed.resolve()
      for (const { client, server } of links) {
        client.destroy()
        server.destroy()
      }
      links.clear()
    },
  }
  return proxy
}

/**
 * Closes the socket with RST. It does not use resetAndDestroy(), which ends the socket first. Node 24 cannot reset a
 * socket that is already ending (EINVAL): it never closes this socket, and the process spins forever instead of
 * exiting. A socket that has already been ended is closed without RST.
 */
export function resetSocket(socket: Socket): void {
  // resetAndDestroy() sets this value for `destroy` to read.
  if (!socket.writableEnded && !socket.connecting) Object.assign(socket, { resetAndClosing: true })
  socket.destroy()
}

function listen(accept: (client: Socket) => void, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, accept)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

// Splits the byte stream of one connection into Kafka request frames. It refuses bytes that cannot be a frame before
// it allocates memory for them. It knows only sizes: dispatch.ts reads the content of a frame.
//
//   0        4                      4 + size
//   | size   | header, body ...      |            size: int32, big endian, not counting itself
//
// Each frame is copied once into an ArrayBuffer of exactly its size. A view of the socket's chunk would keep the
// whole chunk alive for as long as a batch of the frame stays in a cache.

/** The shortest header: API key, version, correlation id. */
const SHORTEST_HEADER = 8

/** A larger frame is allocated as its bytes arrive, so that a false size costs only the bytes that were sent. */
const TRUSTED_BYTES = 1024 * 1024

export interface FrameFault {
  /** A short word for metrics. */
  readonly reason:
    | 'negative-size'
    | 'short-frame'
    | 'too-large'
    | 'too-large-unauthenticated'
    | 'http'
    | 'tls'
    | 'ssh'
    | 'proxy-protocol'
  /** A sentence for the log. It has no byte that the client sent. */
  readonly message: string
}

/** The sizes that the next frame may have, in bytes. */
export interface FrameRule {
  readonly least: number
  readonly most: number
  /** The limit, for the message of a larger frame. */
  readonly limit: string
  readonly tooLarge: 'too-large' | 'too-large-unauthenticated'
}

/** Returns the rule for frames that are requests. */
export function requestFrames(maxBytes: number): FrameRule {
  return { least: SHORTEST_HEADER, most: maxBytes, limit: 'svc.broker.max-request-bytes', tooLarge: 'too-large' }
}

export interface FrameSink {
  /**
   * Takes a whole frame without its size; from then on the receiver counts its memory. Returns false if push() must
   * not take more now.
   */
  frame(bytes: Buffer): boolean
  /** Called when the stream is not Kafka's, or when its frame is too large. The splitter has stopped. */
  fault(fault: FrameFault): void
  /** Called when the memory of an incomplete frame has grown, or when stop() has released it. */
  held(deltaBytes: number): void
}

const HTTP_METHODS: ReadonlySet<string> = new Set([
  'GET ',
  'HEAD',
  'POST',
  'PUT ',
  'PATC',
  'DELE',
  'OPTI',
  'CONN',
  'TRAC',
  'PRI ',
])

/**
 * Returns a fault if these four bytes begin the greeting of a protocol that people send here by mistake; otherwise
 * null.
 */
function recognise(size: number): FrameFault | null {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(size)
  const text = bytes.toString('latin1')
  if (HTTP_METHODS.has(text)) {
    return { reason: 'http', message: 'HTTP on the Kafka port: this listener speaks the Kafka wire protocol only' }
  }
  if (bytes[0] === 0x16 && bytes[1] === 0x03) {
    return { reason: 'tls', message: 'TLS on a plaintext Kafka port: the client uses SSL, this listener does not' }
  }
  if (text === 'SSH-') return { reason: 'ssh', message: 'an SSH greeting on the Kafka port' }
  if (text === 'PROX' || text === '\r\n\r\n') {
    return { reason: 'proxy-protocol', message: 'a PROXY protocol header on the Kafka port, which is not supported' }
  }
  return null
}

function faultOf(size: number, { least, most, limit, tooLarge }: FrameRule): FrameFault | null {
  if (size < 0) return { reason: 'negative-size', message: `a frame of ${size} bytes was announced` }
  if (size < least) {
    return {
      reason: 'short-frame',
      message: `a frame of ${size} bytes was announced, shorter than any request header (${least})`,
    }
  }
  if (size <= most) return null
  return (
    recognise(size) ?? {
      reason: tooLarge,
      message: `a frame of ${size} bytes was announced, more than ${limit} (${most})`,
    }
  )
}

export class FrameSplitter {
  readonly #rule: () => FrameRule
  readonly #sink: FrameSink
  /** The bytes of the size that have arrived, and their number. */
  #size = 0
  #sizeBytes = 0
  /** The frame in progress; shorter than #size while a large one is growing. */
  #frame: Buffer | null = null
  #filled = 0
  #stopped = false
  #begun = 0

  /** `rule` returns the rule for the frame whose size has just arrived. */
  constructor(rule: () => FrameRule, sink: FrameSink) {
    this.#rule = rule
    this.#sink = sink
  }

  /** True if a part of a frame, or of its size, has arrived and the rest has not. */
  get incomplete(): boolean {
    return this.#sizeBytes > 0
  }

  /** The number of frames that have begun to arrive. */
  get begun(): number {
    return this.#begun
  }

  /** Bytes allocated for the frame that is not complete. */
  get heldBytes(): number {
    return this.#frame === null ? 0 : this.#frame.byteLength
  }

  /**
   * Takes the next bytes of the stream. The caller may reuse their memory afterwards. Returns how many bytes it took.
   * These are fewer than all if the receiver wants no further frame now, or if the splitter has stopped.
   */
  push(chunk: Uint8Array): number {
    let at = 0
    while (at < chunk.byteLength && !this.#stopped) {
      if (this.#frame === null) {
        if (this.#sizeBytes === 0) this.#begun++
        while (this.#sizeBytes < 4 && at < chunk.byteLength) {
          this.#size = (this.#size << 8) | chunk[at++]!
          this.#sizeBytes++
        }
        if (this.#sizeBytes < 4) return at
        const fault = faultOf(this.#size, this.#rule())
        if (fault !== null) {
          this.#stopped = true
          this.#sink.fault(fault)
          return at
        }
        this.#frame = Buffer.allocUnsafeSlow(Math.min(this.#size, TRUSTED_BYTES))
        this.#filled = 0
        this.#sink.held(this.#frame.byteLength)
        if (this.#stopped) return at
      }
      at = this.#fill(chunk, at)
      if (this.#filled === this.#size && !this.#hand()) return at
    }
    return at
  }

  /** Drops the frame in progress. */
  stop(): void {
    this.#stopped = true
    if (this.#frame === null) return
    this.#sink.held(-this.#frame.byteLength)
    this.#frame = null
  }

  #fill(chunk: Uint8Array, from: number): number {
    let frame = this.#frame!
    if (this.#filled === frame.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#size, frame.byteLength * 2))
      larger.set(frame)
      this.#frame = larger
      this.#sink.held(larger.byteLength - frame.byteLength)
      if (this.#stopped) return chunk.byteLength
      frame = larger
    }
    const to = Math.min(chunk.byteLength, from + frame.byteLength - this.#filled)
    frame.set(from === 0 && to === chunk.byteLength ? chunk : chunk.subarray(from, to), this.#filled)
    this.#filled += to - from
    return to
  }

  #hand(): boolean {
    const frame = this.#frame!
    this.#frame = null
    this.#filled = 0
    this.#size = 0
    this.#sizeBytes = 0
    return this.#sink.frame(frame)
  }
}

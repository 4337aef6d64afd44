// zstd for many small inputs. To make a compressor for one input costs more than to compress it: Node allocates its
// tables and loads its dictionary. So this keeps a compressor for the next input with the same dictionary. Each input
// becomes a frame of its own. All work is in the thread pool.

import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib'

/** The most bytes of one input. For a larger one a new compressor with a window of its size is better. */
export const LARGEST_PRESSED_BYTES = 1 << 17

const WINDOW_LOG = 17
/** The most idle compressors. Each takes about 1 MB. */
const MOST_IDLE = 16

export class ZstdPresses {
  /** Oldest first. */
  readonly #idle: Press[] = []
  #isClosed = false

  /** Returns one frame of at most LARGEST_PRESSED_BYTES. A compressor is reused only for the same dictionary object. */
  async compress(bytes: Uint8Array, dictionary: Uint8Array | undefined): Promise<Buffer> {
    const at = this.#idle.findLastIndex(press => press.dictionary === dictionary)
    const press = at >= 0 ? this.#idle.splice(at, 1)[0]! : new Press(dictionary)
    // A compressor that fails is not kept.
    const frame = await press.compress(bytes)
    this.#idle.push(press)
    if (this.#isClosed || this.#idle.length > MOST_IDLE) this.#idle.shift()!.close()
    return frame
  }

  /** Closes the compressors. It lets work in progress finish. */
  close(): void {
    this.#isClosed = true
    for (const press of this.#idle.splice(0)) press.close()
  }
}

class Press {
  readonly dictionary: Uint8Array | undefined
  readonly #stream: ZstdCompress
  #output: Buffer[] = []

  constructor(dictionary: Uint8Array | undefined) {
    this.dictionary = dictionary
    const params = { [constants.ZSTD_c_windowLog]: WINDOW_LOG }
    this.#stream = createZstdCompress({ params, ...(dictionary && { dictionary }) })
    this.#stream.on('data', (chunk: Buffer) => this.#output.push(chunk))
  }

  compress(bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#stream.once('error', reject)
      this.#stream.write(bytes)
      this.#stream.flush(constants.ZSTD_e_end, () => {
        this.#stream.off('error', reject)
        const output = Buffer.concat(this.#output)
        this.#output = []
        resolve(output)
      })
    })
  }

  close(): void {
    this.#stream.close()
  }
}

// zstd for many small inputs. A compressor that is made for one input costs more than the input: its tables are
// allocated and its dictionary is read in. Here one is kept for the next input with the same dictionary; each input
// becomes a frame of its own. All work is in the thread pool.

import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib'

/** Above this a compressor of its own, with a window for its size, does better. */
export const LARGEST_PRESSED_BYTES = 1 << 17

const WINDOW_LOG = 17
/** A compressor takes about 1 MB. */
const MOST_IDLE = 16

export class ZstdPresses {
  /** Oldest first. */
  readonly #idle: Press[] = []
  #isClosed = false

  /** One frame of at most LARGEST_PRESSED_BYTES, with the very dictionary that is given. */
  async compress(bytes: Uint8Array, dictionary: Uint8Array | undefined): Promise<Buffer> {
    const at = this.#idle.findLastIndex(press => press.dictionary === dictionary)
    const press = at >= 0 ? this.#idle.splice(at, 1)[0]! : new Press(dictionary)
    // One that fails is not kept.
    const frame = await press.compress(bytes)
    this.#idle.push(press)
    if (this.#isClosed || this.#idle.length > MOST_IDLE) this.#idle.shift()!.close()
    return frame
  }

  /** Work that is under way is finished. */
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

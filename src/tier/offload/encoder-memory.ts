// The memory of all files that are being made: the open row groups in the encoder threads, and the bytes of closed ones
// on their way to the store. When it is full, the file with the largest open group closes that group, and the others
// wait until there is room. A file that waits holds no bytes that are on their way, so the largest one can always close
// its group: the files cannot wait for each other for ever.

import type { Patience } from '../../base/patience.ts'

/** Closing a smaller group would free little, and make files of many groups. */
const LEAST_GROUP_BYTES = 256 * 1024
/** A call may take this much more memory than it adds bytes, as pages grow in steps. At first, and at most. */
const FIRST_GROWTH_BYTES = 2 * 1024 * 1024
const MOST_GROWTH_BYTES = 8 * 1024 * 1024

/** The memory of an encoder thread beside its open row group: its code, its heap, and what it has not collected. */
const THREAD_BYTES = 64 * 1024 * 1024
/** All threads together count as at most this share of the limit: row groups need the rest. */
const THREADS_SHARE = 0.5

/** Returns the memory that each of this many threads counts as, whatever it encodes. */
export function threadBytesOf(limitBytes: number, threads: number): number {
  return Math.min(THREAD_BYTES, Math.floor((limitBytes * THREADS_SHARE) / threads))
}

export class EncoderMemory {
  readonly #limitBytes: number
  readonly #threadBytes: number
  readonly #files = new Set<FileMemory>()
  #changed = Promise.withResolvers<void>()

  /** A file counts as `threadBytes` more while an encoder thread works on it. */
  constructor(limitBytes: number, threadBytes = 0) {
    this.#limitBytes = limitBytes
    this.#threadBytes = threadBytes
  }

  /** The bytes that all files hold. */
  get usedBytes(): number {
    let bytes = 0
    for (const file of this.#files) bytes += file.bytes
    return bytes
  }

  /** Begins to count a file. The caller ends it in any case. */
  open(): FileMemory {
    const file: FileMemory = new FileMemory(this, this.#threadBytes, () => this.#files.delete(file))
    this.#files.add(file)
    return file
  }

  /** For FileMemory. */
  wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** For FileMemory. */
  tryRoom(file: FileMemory, more: number): boolean {
    if (this.usedBytes + more > this.#limitBytes) return false
    file.reserve(more)
    return true
  }

  /** For FileMemory. */
  async decide(file: FileMemory, more: number, patience: Patience): Promise<'add' | 'close'> {
    while (this.usedBytes + more > this.#limitBytes && !patience.isOver) {
      const largest = this.#largest()
      // Less cannot be had: the encoders need some memory of their own, whatever they hold.
      if (largest === null && !this.#isAnyBusy()) break
      if (largest === file) return 'close'
      await changedOrEnded(this.#changed.promise, patience)
    }
    // At once: others that were woken with this file decide next.
    file.reserve(more)
    return 'add'
  }

  /** Says whether a call or an upload is going to free memory. */
  #isAnyBusy(): boolean {
    for (const file of this.#files) if (file.isBusy) return true
    return false
  }

  #largest(): FileMemory | null {
    let largest: FileMemory | null = null
    for (const file of this.#files)
      if (file.groupBytes >= LEAST_GROUP_BYTES && file.groupBytes > (largest?.groupBytes ?? 0)) largest = file
    return largest
  }
}

export class FileMemory {
  readonly #memory: EncoderMemory
  readonly #end: () => void
  /** Of the encoder thread; 0 when it has finished the file. */
  #threadBytes: number
  /** The memory that the encoder keeps for its next group when it has closed one. */
  #idleBytes = 0
  #heldBytes = 0
  /** The bytes that are counted for each running call, in order. */
  readonly #added: number[] = []
  #addedBytes = 0
  #leavingBytes = 0
  #growthBytes = FIRST_GROWTH_BYTES

  constructor(memory: EncoderMemory, threadBytes: number, end: () => void) {
    this.#memory = memory
    this.#threadBytes = threadBytes
    this.#end = end
  }

  get bytes(): number {
    return this.#threadBytes + this.#heldBytes + this.#addedBytes + this.#leavingBytes
  }

  get isBusy(): boolean {
    return this.#addedBytes + this.#leavingBytes > 0
  }

  /** The bytes that closing the open group would free. */
  get groupBytes(): number {
    return Math.max(0, this.#heldBytes - this.#idleBytes)
  }

  /**
   * Resolves with 'add' when there is room for as many bytes, which are counted until `held` is called, or with 'close'
   * if the caller must first close its row group, and ask again. Also resolves with 'add' when the patience is over.
   */
  room(more: number, patience: Patience): Promise<'add' | 'close'> {
    return this.#memory.decide(this, more + this.#growthBytes, patience)
  }

  /** Counts as many bytes if there is room for them now. */
  tryRoom(more: number): boolean {
    return this.#memory.tryRoom(this, more + this.#growthBytes)
  }

  /** For EncoderMemory. */
  reserve(bytes: number): void {
    this.#added.push(bytes)
    this.#addedBytes += bytes
  }

  /** The encoder holds this much after its next call; `leavingBytes` of the file are on their way to the store. */
  held(heldBytes: number, leavingBytes: number, isGroupClosed: boolean): void {
    const added = this.#added.shift() ?? 0
    const excess = heldBytes + leavingBytes - this.#heldBytes - (added - this.#growthBytes)
    if (added > 0) this.#growthBytes = Math.min(MOST_GROWTH_BYTES, Math.max(this.#growthBytes, excess))
    this.#heldBytes = heldBytes
    this.#addedBytes -= added
    this.#leavingBytes += leavingBytes
    if (isGroupClosed) this.#idleBytes = heldBytes
    this.#memory.wake()
  }

  /** The encoder has finished the file. Its last bytes may still be on their way. */
  finished(): void {
    this.#threadBytes = 0
    this.#memory.wake()
  }

  /** The store has taken bytes of the file. */
  left(bytes: number): void {
    this.#leavingBytes -= bytes
    this.#memory.wake()
  }

  end(): void {
    this.#end()
    this.#memory.wake()
  }
}

function changedOrEnded(changed: Promise<void>, { ended, isOver }: Patience): Promise<void> {
  if (ended === null || isOver) return changed
  return new Promise(resolve => {
    const goOn = () => {
      ended.removeEventListener('abort', goOn)
      resolve()
    }
    ended.addEventListener('abort', goOn)
    void changed.then(goOn)
  })
}

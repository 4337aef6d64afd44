// A thread that hashes passwords, one after the other.

import { argon2Sync } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { stepBack } from '../../base/quiet-thread.ts'

/** The parameters of node:crypto's argon2. */
export interface Argon2Input {
  readonly message: Uint8Array
  readonly nonce: Uint8Array
  readonly parallelism: number
  readonly tagLength: number
  /** In KiB. */
  readonly memory: number
  readonly passes: number
}

stepBack()
parentPort!.on('message', (input: Argon2Input) => parentPort!.postMessage(argon2Sync('argon2id', input)))

// S3 servers that others have written, each of an exact version in the cache: moto from PyPI, and versitygw from the
// Go module proxy. `node scripts/run.mjs e2e/objects/build.ts` installs them, and needs python3 with its venv module.
// Tests of the cold tier read and write through them.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { S3Options } from '../../src/tier/objects/s3-client.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { CACHE } from '../../testing/cache.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { eventually } from '../../testing/eventually.ts'
import { freePort } from '../../testing/free-port.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'

export const MOTO = 'moto[server]==5.2.5'
export const MOTO_FOLDER = join(CACHE, MOTO)
export const VERSITY = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'
export const VERSITY_FOLDER = join(CACHE, 'versitygw-1.8.0')

export const motoServer = join(MOTO_FOLDER, 'bin/moto_server')
export const versityServer = join(VERSITY_FOLDER, 'versitygw')

export interface ForeignS3 {
  readonly bucket: string
  readonly options: S3Options
}

export interface ForeignServer {
  readonly name: string
  /** Why a test cannot use it; false if it is installed. */
  readonly absence: string | false
  /** Starts a server with an empty bucket. It ends with the test. */
  start(cleanUp: CleanUp): Promise<ForeignS3>
}

const absence = (name: string, file: string) =>
  existsSync(file) ? false : `SKIPPED e2e/objects ${name}: node scripts/run.mjs e2e/objects/build.ts`

const BUCKET = 'tables'
const [KEY_ID, SECRET] = ['ketchtest', 'ketch-test-secret']

export const FOREIGN_SERVERS: readonly ForeignServer[] = [
  {
    name: 'moto',
    absence: absence('moto', motoServer),
    async start(cleanUp) {
      const port = await freePort()
      const endpoint = await serve(cleanUp, motoServer, ['-H', '127.0.0.1', '-p', String(port)], port)
      const { status } = await fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' })
      if (status !== 200) throw new Error(`moto answered ${status} to the creation of a bucket`)
      return { bucket: BUCKET, options: optionsOf(endpoint) }
    },
  },
  {
    name: 'versitygw',
    absence: absence('versitygw', versityServer),
    async start(cleanUp) {
      const port = await freePort()
      const folder = await temporaryFolder(cleanUp, 'ketch-versitygw-')
      // A bucket is a folder. It keeps checksums in extended attributes; in files beside them (`--sidecar`) a reader
      // would see the checksum of one object and the bytes of the one that replaces it.
      await mkdir(join(folder, BUCKET))
      const login = ['--access', KEY_ID, '--secret', SECRET]
      const store = ['posix', folder]
      const args = ['--port', `127.0.0.1:${port}`, ...login, '--quiet', '--keep-alive', ...store]
      return { bucket: BUCKET, options: optionsOf(await serve(cleanUp, versityServer, args, port)) }
    },
  },
]

function optionsOf(endpoint: string): S3Options {
  return { endpoint, region: 'us-east-1', accessKeyId: KEY_ID, secretAccessKey: SECRET, pathStyle: true }
}

/** Starts the program and resolves with its URL when it answers. */
async function serve(cleanUp: CleanUp, program: string, args: readonly string[], port: number): Promise<string> {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  endWithUs(child)
  let output = ''
  child.stdout!.on('data', chunk => (output += chunk))
  child.stderr!.on('data', chunk => (output += chunk))
  let hasEnded = false
  const gone = new Promise<void>(resolve => {
    const end = () => {
      hasEnded = true
      resolve()
    }
    child.on('close', end)
    child.on('error', error => {
      output += error.message
      end()
    })
  })
  cleanUp.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(
    `${program} answers on port ${port}`,
    async () => {
      if (hasEnded) throw new Error(`${program} ended; it printed:\n${output}`)
      return fetch(url).then(
        () => true,
        () => false,
      )
    },
    60_000,
  )
  return url
}

// The files of the built console, in memory. The build names them in files.json (console/served-files.ts), and no other
// file is read. They are read when the first page is asked for, so that they delay no start, and all at once, so that a
// later build cannot mix with them. Which request gets which file is in routes/console.ts.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { z } from 'zod'
import type { Logger } from '../telemetry/logger.ts'

/** The folder that `npm start` builds the console into. */
export const BUILT_CONSOLE = fileURLToPath(new URL('../../console/dist', import.meta.url))

const ENDINGS = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof ENDINGS
const DECODERS: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: promisify(brotliDecompress),
  gzip: promisify(gunzip),
}

export interface ConsoleFile {
  readonly mediaType: string
  /** True if its name changes with its bytes. */
  readonly isHashed: boolean
  readonly bytes: Buffer
  /** The same bytes in each encoding that makes them smaller. */
  readonly encoded: ReadonlyMap<Encoding, Buffer>
}

export interface BuiltConsole {
  /** The stamp of the sources that it was built from. */
  readonly stamp: string
  /** Each file by its path, such as `index.html` or `assets/index-1a2b3c4d.js`. */
  readonly files: ReadonlyMap<string, ConsoleFile>
  /** The scripts that a page needs beside those that index.html names, by the path of the page in src/api/pages.ts. */
  readonly scripts: ReadonlyMap<string, readonly string[]>
}

export interface ConsoleFiles {
  /** Resolves with the built console; null if no console is built. A console that is built later is found. */
  read(): Promise<BuiltConsole | null>
}

const pathShape = z.string().regex(/^(index\.html|assets\/[\w.-]+)$/)

const listShape = z.object({
  stamp: z.string().regex(/^[0-9a-f]+$/),
  files: z.array(
    z.object({
      path: pathShape,
      mediaType: z.string(),
      isHashed: z.boolean(),
      encodings: z.array(z.enum(['br', 'gzip'])),
      bytes: z.int(),
    }),
  ),
  scripts: z.record(z.string(), z.array(pathShape)),
})

const LOG_EVERY_MS = 60_000

/** `folder` is the folder of the built console. A folder that cannot be read is logged and counts as no console. */
export function openConsoleFiles(logger: Logger, folder = BUILT_CONSOLE): ConsoleFiles {
  let built: Promise<BuiltConsole | null> | null = null
  return {
    read() {
      const reading = built ?? readAll(folder)
      built = reading
      return reading.then(
        found => {
          if (found === null) built = null
          return found
        },
        error => {
          built = null
          logger
            .named('http')
            .limited('console', LOG_EVERY_MS)
            .warn(`the web console in ${folder} cannot be read; delete this folder, and npm start builds it again`, {
              error,
            })
          return null
        },
      )
    },
  }
}

async function readAll(folder: string): Promise<BuiltConsole | null> {
  let list: string
  try {
    list = await readFile(join(folder, 'files.json'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const { stamp, files, scripts } = listShape.parse(JSON.parse(list))
  const read = new Map<string, ConsoleFile>()
  // One after the other: the broker may have few descriptors left.
  for (const { path, mediaType, isHashed, encodings, bytes: size } of files) {
    const bytes = await readFile(join(folder, path))
    if (bytes.length !== size) throw new Error(`${path} has ${bytes.length} bytes and not ${size}`)
    const encoded = new Map<Encoding, Buffer>()
    for (const encoding of encodings) {
      const name = path + ENDINGS[encoding]
      const smaller = await readFile(join(folder, name))
      // A browser keeps a hashed file for a year, so that one answer with half a file would break it for as long.
      const decoded = await DECODERS[encoding](smaller).catch(cause => {
        throw new Error(`${name} cannot be decoded`, { cause })
      })
      if (!decoded.equals(bytes)) throw new Error(`${name} is not ${path}`)
      encoded.set(encoding, smaller)
    }
    read.set(path, { mediaType, isHashed, bytes, encoded })
  }
  if (!read.has('index.html')) throw new Error('files.json names no index.html')
  return { stamp, files: read, scripts: new Map(Object.entries(scripts)) }
}

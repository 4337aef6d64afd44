// The border between the bytes of a data file and the code that reads them. Anybody can have damaged a file, and the
// libraries that read it have no class of errors for that: all that is thrown inside of the border is damage. The work
// inside must depend on nothing but the bytes, so that no fault of a store or a thread is taken for damage.

import { MissingFile } from './file-bytes.ts'
import { DamagedFile } from './page-cursors.ts'

/** Returns the result of the work, or throws DamagedFile. `what` is the beginning of its sentence. */
export function parsing<T>(what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw asDamage(what, error)
  }
}

/** Does the same for work that gives a promise. */
export async function parsingLater<T>(what: string, parse: () => Promise<T>): Promise<T> {
  try {
    return await parse()
  } catch (error) {
    throw asDamage(what, error)
  }
}

function asDamage(what: string, error: unknown): Error {
  if (error instanceof DamagedFile || error instanceof MissingFile) return error
  return new DamagedFile(`${what} cannot be read: ${(error as Error).message}`, { cause: error })
}

/** Returns an integer of the footer, which a double holds exactly. Throws DamagedFile for anything else. */
export function wholeNumber(what: string, value: unknown): number {
  const number = typeof value === 'bigint' ? Number(value) : value
  if (!Number.isSafeInteger(number)) throw new DamagedFile(`${what} is no integer below 2^53`)
  return number as number
}

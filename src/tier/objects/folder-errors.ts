// Maps the errors of file calls to errors of the port. Errors that come from no file call pass unchanged: they are
// mistakes of ours, or come from the caller's parts.

import { ObjectStoreError, type ObjectStoreErrorKind } from './objects.ts'

const KINDS: Readonly<Record<string, ObjectStoreErrorKind>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EACCES: 'refused',
  EPERM: 'refused',
  EROFS: 'refused',
  EISDIR: 'refused',
  ENOTDIR: 'refused',
  ENOTEMPTY: 'refused',
  ELOOP: 'refused',
  ENAMETOOLONG: 'refused',
  EFBIG: 'refused',
  EINVAL: 'refused',
  ENOTSUP: 'refused',
  EOPNOTSUPP: 'refused',
  ENOSYS: 'refused',
  EXDEV: 'refused',
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}

/** Returns whether an error says that no file has the name. ENOTDIR: a segment before the last one is a file. */
export function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}

/** `what` continues "cannot", for example `read /data/a`. Other codes, such as EIO and EMFILE, may pass: 'away'. */
export function folderError(what: string, error: unknown): unknown {
  const code = codeOf(error)
  if (code === undefined || (error as NodeJS.ErrnoException).syscall === undefined) return error
  return new ObjectStoreError(KINDS[code] ?? 'away', `cannot ${what}: ${reasonOf(code, error as Error)}`, error)
}

function reasonOf(code: string, error: Error): string {
  const said: Readonly<Record<string, string>> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the quota of the disk is used up',
    EROFS: 'the file system is read-only',
    ENAMETOOLONG: 'the file system does not allow a name of this length',
    EISDIR: 'a folder has this name',
    ENOTDIR: 'a part of this name is a file',
  }
  // Node's message repeats the call and its paths, which `what` names already.
  return `${said[code] ?? error.message.replace(/^\w+: /, '').replace(/, \w+ '.*$/s, '')} (${code})`
}

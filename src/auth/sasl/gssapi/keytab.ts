// Reads a keytab of format 2, as kadmin, ktutil, ktpass and FreeIPA write it (MIT Kerberos, "The keytab file format").
// It opens no file: service-keys.ts does.
//
//   05 02, then entries: size (int32; negative: a hole of this size; 0: the end)
//     count of components (u16) | realm | components | type of the name (u32) | time (u32) | kvno (u8)
//     | enctype (u16) | key | kvno (u32, if there are bytes for it, and it is not 0)
//   realm, components and key: length (u16), bytes

import { isSame, type Principal } from './names.ts'

export interface KeytabEntry {
  readonly principal: Principal
  readonly kvno: number
  readonly enctype: number
  readonly bytes: Buffer
}

/** The file is no keytab. The message completes a sentence that begins with the name of the file. */
export class KeytabError extends Error {
  override readonly name = 'KeytabError'
}

/** Returns the entries in the order of the file. Throws KeytabError. */
export function readKeytab(file: Buffer): readonly KeytabEntry[] {
  if (file.length < 2 || file[0] !== 5) throw new KeytabError('is not a keytab')
  if (file[1] !== 2) throw new KeytabError(`is a keytab of format ${file[1]}; only format 2 is read`)
  const entries: KeytabEntry[] = []
  for (let at = 2; at < file.length; ) {
    if (file.length - at < 4) throw new KeytabError(`is cut off at byte ${at}`)
    const size = file.readInt32BE(at)
    if (size === 0) break
    at += 4
    const end = at + Math.abs(size)
    if (end > file.length) throw new KeytabError(`is cut off: an entry at byte ${at} has ${Math.abs(size)} bytes`)
    if (size > 0) entries.push(readEntry(file.subarray(at, end), at))
    at = end
  }
  return entries
}

function readEntry(entry: Buffer, position: number): KeytabEntry {
  let at = 0
  const take = (bytes: number): Buffer => {
    if (bytes > entry.length - at) throw new KeytabError(`holds a malformed entry at byte ${position}`)
    at += bytes
    return entry.subarray(at - bytes, at)
  }
  const takeCounted = () => take(take(2).readUInt16BE())
  const count = take(2).readUInt16BE()
  const realm = takeCounted().toString()
  const components = Array.from({ length: count }, () => takeCounted().toString())
  take(8)
  const shortKvno = take(1)[0]!
  const enctype = take(2).readUInt16BE()
  // A copy, so that the key does not keep the whole file.
  const bytes = Buffer.from(takeCounted())
  const longKvno = entry.length - at >= 4 ? take(4).readUInt32BE() : 0
  return { principal: { realm, components }, kvno: longKvno === 0 ? shortKvno : longKvno, enctype, bytes }
}

/** Returns the entries of one principal, those with the highest key version first. */
export function entriesOf(entries: readonly KeytabEntry[], principal: Principal): readonly KeytabEntry[] {
  return entries.filter(entry => isSame(entry.principal, principal)).sort((a, b) => b.kvno - a.kvno)
}

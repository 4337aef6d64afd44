// Bytes as people read them in a hex dump, and base64 as the API sends them.

export const BYTES_PER_LINE = 16
const HALF = BYTES_PER_LINE / 2

/**
 * Returns a line for each 16 bytes: `00000010  48 65 6c 6c 6f 20 77 6f  72 6c 64 21              |Hello world!|`. The
 * first number is the position of the first byte, in hex. A byte that is not printable ASCII is a dot.
 */
export function hexLines(bytes: Uint8Array): readonly string[] {
  const lines: string[] = []
  for (let start = 0; start < bytes.length; start += BYTES_PER_LINE) {
    let hex = ''
    let ascii = ''
    for (let at = 0; at < BYTES_PER_LINE; at++) {
      const byte = bytes[start + at]
      hex += `${at === HALF ? ' ' : ''}${byte === undefined ? '  ' : HEX[byte]} `
      if (byte !== undefined) ascii += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'
    }
    lines.push(`${start.toString(16).padStart(8, '0')}  ${hex} |${ascii}|`)
  }
  return lines
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Decodes standard base64 with its padding. Throws an error if it is something else. */
export function bytesOfBase64(base64: string): Uint8Array {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

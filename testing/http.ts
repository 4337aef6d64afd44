// Raw HTTP: requests that no client library would send, and the answers as bytes.

import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** The headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Everything that arrived until the other side closed the connection. */
  readonly text: string
}

/** Sends the parts one after the other. Resolves with everything that arrived when the other side has closed. */
export function sendRaw(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      for (const part of parts) socket.write(part)
    })
    const chunks: Buffer[] = []
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', error => {
      if (chunks.length === 0) reject(error)
    })
    socket.on('close', () => resolve(parse(Buffer.concat(chunks).toString('latin1'))))
  })
}

function parse(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map(line => {
    const at = line.indexOf(':')
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const
  })
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(headers),
    body: rest.join('\r\n\r\n'),
    text,
  }
}

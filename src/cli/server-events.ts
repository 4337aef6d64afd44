// Reads server-sent events from HTTP (HTML Living Standard, 9.2): each line is a field of an event, and an empty line
// ends the event. Comments and unknown fields are skipped.

export interface ServerEvent {
  readonly type: string
  readonly data: string
  /** The newest id so far; null before the first. */
  readonly id: string | null
}

export async function* serverEvents(chunks: AsyncIterable<Uint8Array>): AsyncIterable<ServerEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let id: string | null = null
  let type = 'message'
  let data: string[] = []
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { type, data: data.join('\n'), id }
        type = 'message'
        data = []
        continue
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
      if (field === 'id') id = value
      else if (field === 'event') type = value
      else if (field === 'data') data.push(value)
    }
  }
}

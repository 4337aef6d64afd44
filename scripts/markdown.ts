// The few Markdown elements that generated pages consist of.

/** Returns the text escaped for Markdown: Markdown interprets nothing in it, and it stays inside its table cell. */
export function plain(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~&]/g, found =>
    found === '<' ? '&lt;' : found === '>' ? '&gt;' : found === '&' ? '&amp;' : `\\${found}`,
  )
}

/** Returns the text as code. A bar is escaped, because it would end the table cell even inside code. */
export function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``
}

/** Returns a table. The cells are already Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

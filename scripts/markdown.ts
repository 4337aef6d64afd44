// The little Markdown that generated pages are made of.

/** Text as Markdown shows it: nothing in it is markup, and it cannot leave its table cell. */
export function plain(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|~&]/g, found =>
    found === '<' ? '&lt;' : found === '>' ? '&gt;' : found === '&' ? '&amp;' : `\\${found}`,
  )
}

/** Text in code marks. A bar would end the cell even there. */
export function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``
}

/** A table whose cells are Markdown already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

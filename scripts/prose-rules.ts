// Finds what a script can find in sentences: comments that are too wide, words that do not say who does something,
// and row numbers that no reader can look up. STYLE.md says how to write instead. This file reads no other file
// itself.

import type { Finding, Sources } from './house-rules.ts'

const WIDEST_COMMENT = 120

interface Phrase {
  readonly pattern: RegExp
  readonly instead: string
}

const PHRASES: readonly Phrase[] = [
  { pattern: /\bwhoever\b/i, instead: 'say who: the caller, a client, the operator' },
  { pattern: /\b[Nn]obody\b/, instead: 'say who does not: no client, no broker' },
  { pattern: /\bwhere it is not said\b/i, instead: 'say "by default"' },
  { pattern: /\b(there|it|which|that) is none\b/i, instead: 'say what there is not: no leader, no token' },
  { pattern: /\bso many\b/i, instead: 'say "this many", or name the number' },
  {
    pattern: /(?:^\s*(?:\/\/|\*|\/\*\*?|-|>)\s*|[.:!?] |['"`] ?)What(?! \w+(?: \w+){0,12}\?)\b(?=[ ,])/,
    instead: 'begin with who or which thing does something',
  },
]

/** Numbers of rows and sections at the beginning of a test's name. */
const NUMBERED_TEST = /\btest\(\s*['"`](?:(?:judged |row )?[A-Z]?\d+(?:\.\d+)*[,:] )+/

/** These files show examples of bad prose. */
const SHOW_BAD_PROSE = ['STYLE.md', 'scripts/prose-rules.ts', 'scripts/prose-rules.test.ts']

const isComment = (line: string) => /^\s*(\/\/|\*|\{?\/\*|--)/.test(line)

/** Returns the findings in comments, texts and names of tests. */
export function inspectProse(texts: Sources): readonly Finding[] {
  const findings: Finding[] = []
  for (const [file, source] of texts) {
    if (SHOW_BAD_PROSE.includes(file)) continue
    const isPage = file.endsWith('.md')
    for (const [index, line] of source.split('\n').entries()) {
      const find = (text: string, instead: string) => findings.push({ file, line: index + 1, text, instead })
      if (!isPage && isComment(line) && line.length > WIDEST_COMMENT)
        find(`a comment of ${line.length} columns`, `break it before column ${WIDEST_COMMENT}`)
      for (const { pattern, instead } of PHRASES) {
        const found = pattern.exec(line)
        if (found !== null) find(`"${found[0].trim()}"`, instead)
      }
      const numbered = NUMBERED_TEST.exec(line)
      if (numbered !== null)
        find(`"${numbered[0]}"`, 'name the behaviour; docs/security-checklist.md maps rows to tests')
    }
  }
  return findings
}

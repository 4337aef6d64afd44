// Changes the text of a broker's modules as Node loads them, in a process that a test starts. The product has no
// switch for what a test wants to break or to stop.

import { registerHooks } from 'node:module'

export interface Change {
  /** The end of the module's path. */
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** Registers the changes. A module in which a text does not occur exactly once is not loaded; the error names `by`. */
export function changeSource(changes: readonly Change[], by: string): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const wanted = changes.filter(({ file }) => url.endsWith(`/${file}`))
      if (wanted.length === 0) return loaded
      let source = Buffer.from(loaded.source as Uint8Array).toString()
      for (const { file, text, instead } of wanted) {
        if (source.split(text).length !== 2) throw new Error(`${file} is not as ${by} expects: ${text}`)
        source = source.replace(text, () => instead)
      }
      return { ...loaded, source }
    },
  })
}

// The name of a config. A narrow column may break it behind a dot.

import { Fragment } from 'react'

export function ConfigName({ of }: { readonly of: string }) {
  return (
    <code className="font-mono text-dense">
      {of.split('.').map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name never move
        <Fragment key={at}>
          {at > 0 && (
            <>
              .<wbr />
            </>
          )}
          {part}
        </Fragment>
      ))}
    </code>
  )
}

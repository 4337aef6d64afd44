// Shows its children while the broker has the schema registry, and else the reason why it has none. Nothing is asked
// for before the broker has said so.

import type { ReactNode } from 'react'
import { useRead } from '../../api/queries.ts'
import { Empty, Loaded } from '../../parts/states.tsx'

export function RegistryGate({ children }: { readonly children: ReactNode }) {
  const read = useRead('show capabilities', {})
  return (
    <Loaded read={read} of="The capabilities" rows={4}>
      {({ capabilities }) => {
        const { state, setting, because } = capabilities.find(({ id }) => id === 'schema-registry')!
        if (state === 'on') return children
        return (
          <Empty title={because ?? 'The schema registry is off.'}>
            The registry keeps the schemas of keys and values, refuses records that do not fit them, and shows records
            as JSON.
            {state === 'off' && setting !== null && (
              <>
                {' '}
                The setting <code className="font-mono">{setting}</code> switches it on.
              </>
            )}
          </Empty>
        )
      }}
    </Loaded>
  )
}

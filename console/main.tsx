// Starts the console in the page.

import './style/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { begin } from './beginning.ts'
import { router } from './routes.tsx'
import { followPreferences } from './shell/preferences.ts'
import { SessionProvider } from './shell/session.tsx'

const { status, ready } = begin(location)
followPreferences()

// Without `await` at the top of the module: the build would divide it into more files.
void ready.then(known => {
  createRoot(document.getElementById('console')!).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <SessionProvider first={status} known={known}>
          <RouterProvider router={router} />
        </SessionProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
})

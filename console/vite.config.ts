// Builds the console into console/dist. The broker serves the files that files.json there names, and no others.

import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { servedFiles } from './served-files.ts'

/** The broker that `npm run dev` asks. */
const BROKER = process.env.KETCH_URL ?? 'http://127.0.0.1:8080'

/** The commands for terminals, and their parts. */
const COMMANDS = /\/(text\/(commands|client-properties|shell)|shell\/command-access|parts\/recipes)\.tsx?$/

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), tailwind(), servedFiles()],
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    // The security policy of the broker allows no data: URLs for scripts and fonts, and every file is small.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Modules that several pages share are in one file, so that a page needs few requests. The commands are not in it,
    // because they are large and few pages need them.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'shared',
              minShareCount: 3,
              test: id => !COMMANDS.test(id),
            },
            { name: 'commands', minShareCount: 2, test: COMMANDS, includeDependenciesRecursively: false },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api/v1|actuator)/': { target: BROKER, changeOrigin: false } } },
})

export default defineNuxtConfig({
  modules: ['@nuxt/content'],
  compatibilityDate: '2026-01-01',
  app: { baseURL: '/base/' },
  content: { experimental: { sqliteConnector: 'native' } },
  telemetry: false,
});

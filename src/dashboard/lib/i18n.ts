/**
 * Texts of the dashboard, which are all in `messages/`. Those of the sign-in are loaded with the program in English; others when they are wanted:
 * a language when it is chosen, and the pages' texts when somebody has signed in.
 */
import { createInstance } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { InsideTexts, OutsideTexts } from '../messages/en/inside.ts';
import { outside } from '../messages/en/outside.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common';
    resources: OutsideTexts & InsideTexts;
  }
}

/** Languages of the dashboard by code, with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

/** Loads the texts of a language: before somebody has signed in, and after. */
const loaders: Record<Language, { outside: () => Promise<OutsideTexts>; inside: () => Promise<InsideTexts> }> = {
  en: {
    outside: async () => outside,
    inside: async () => (await import('../messages/en/inside.ts')).inside,
  },
  de: {
    outside: async () => (await import('../messages/de/outside.ts')).outside,
    inside: async () => (await import('../messages/de/inside.ts')).inside,
  },
};

export const i18n = createInstance();
void i18n.use(initReactI18next).init({
  lng: 'en',
  fallbackLng: 'en',
  resources: { en: outside },
  defaultNS: 'common',
  // React escapes.
  interpolation: { escapeValue: false },
  returnNull: false,
});

const isLanguage = (code: string): code is Language => Object.hasOwn(languages, code);

const storageKey = 'portico:language';

/** The language of the account that was last used in this browser, otherwise the first one of the browser that there is. */
export function firstLanguage(): Language {
  const kept = localStorage.getItem(storageKey) ?? '';
  return [kept, ...navigator.languages.map((code) => code.slice(0, 2))].find(isLanguage) ?? 'en';
}

/** Whether a page was opened that needs more texts than the sign-in. */
let isInside = false;

async function load(language: Language, part: 'outside' | 'inside'): Promise<void> {
  const texts = await loaders[language][part]();
  for (const [namespace, resources] of Object.entries(texts)) i18n.addResourceBundle(language, namespace, resources);
}

/** Loads what the pages for people who are signed in say, in the language of now and of later. */
export async function loadInsideTexts(): Promise<void> {
  isInside = true;
  await load(isLanguage(i18n.language) ? i18n.language : 'en', 'inside');
}

/** Shows all texts in another language. One there are no texts for, which only the API sets, changes nothing. */
export async function setLanguage(code: string): Promise<void> {
  if (!isLanguage(code)) return;
  localStorage.setItem(storageKey, code);
  await Promise.all([load(code, 'outside'), isInside && load(code, 'inside')]);
  document.documentElement.lang = code;
  await i18n.changeLanguage(code);
}

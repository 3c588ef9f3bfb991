import type { CDPSession, Page } from 'playwright-core';

/** Characters of a document as it stands; page readers look at no more. */
const mostHtml = 10 * 1024 * 1024;
/** Milliseconds in which a renderer that does anything at all answers. */
const patience = 5_000;

/** As text, because it is run in the page. Open shadow roots are written as templates, which page readers look into. */
const serialize = `(() => {
  const roots = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (!element.shadowRoot) continue;
      roots.push(element.shadowRoot);
      walk(element.shadowRoot);
    }
  };
  walk(document);
  const html = document.documentElement;
  const type = document.doctype ? '<!DOCTYPE ' + document.doctype.name + '>' : '';
  const inner = roots.length > 0 && html.getHTML ? html.getHTML({ shadowRoots: roots }) : html.innerHTML;
  const tag = html.cloneNode(false).outerHTML;
  const end = tag.lastIndexOf('</');
  return (type + (end < 0 ? html.outerHTML : tag.slice(0, end) + inner + tag.slice(end))).slice(0, ${mostHtml});
})()`;

const within = async <T>(work: Promise<T>, milliseconds: number): Promise<T | null> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds);
  });
  work.catch(() => {});
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};

/**
 * Ends what the scripts of a page are doing, and lets them do nothing more: also one that never returns.
 * @param opening has to be open before the page is loaded
 */
export async function endScripts(opening: Promise<CDPSession>): Promise<void> {
  const ending = async () => {
    const session = await opening;
    await Promise.all([
      session.send('Emulation.setScriptExecutionDisabled', { value: true }),
      session.send('Runtime.terminateExecution'),
    ]);
  };
  await within(ending(), patience).catch(() => {});
}

/** The document of a page as it stands; null when the page does not answer. */
export async function readDom(page: Page): Promise<string | null> {
  const read = async () => {
    const html: unknown = await page.evaluate(serialize).catch(() => null);
    return typeof html === 'string' ? html : page.content();
  };
  return within(read(), patience);
}

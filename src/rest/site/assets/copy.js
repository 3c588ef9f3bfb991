/** Adds a button to every sample that copies its text. */

const selectText = (element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
};

/** The clipboard is there only for https and localhost; elsewhere the text is left selected for the keyboard. */
async function copy(code) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(code.textContent);
    return 'Copied';
  }
  selectText(code);
  return 'Selected';
}

for (const sample of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    const code = sample.querySelector('code');
    button.textContent = await copy(code).catch(() => {
      selectText(code);
      return 'Selected';
    });
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  sample.append(button);
}

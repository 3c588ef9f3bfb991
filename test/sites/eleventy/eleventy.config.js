
export default function (eleventyConfig) {
  eleventyConfig.setInputDirectory('src');
  eleventyConfig.addPassthroughCopy('src/assets');
  eleventyConfig.ignores.add('src/ignored/**');
  eleventyConfig.addPreprocessor('drafts', '*', (data) => {
    if (data.draft) return false;
  });
  return { pathPrefix: '/base/', dir: { output: 'www' } };
}

import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import CopyPage from './CopyPage.vue';
import Diagram from './Diagram.vue';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-before': () => h(CopyPage) }),
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
  },
};

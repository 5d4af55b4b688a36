// examples/train_exported/train_exported.cpp: trains a model that PyTorch exported, without PyTorch or Python.
//
// The model's graph and a loss behind it are traced as one graph, whose derivatives are its next
// stage. A step of training runs both stages and subtracts the gradients from the parameters. The
// trained model is saved, and loaded again.
//
//   train_exported KERNELS MODEL IMAGES LABELS RESULT [EPOCHS]
//
// KERNELS is opyard_kernels.so; MODEL a .pt2 file that gives the logarithms of probabilities;
// IMAGES and LABELS are .npy files, float32[n, …] and int64[n]; RESULT is written.
#include <opyard/autograd.h>
#include <opyard/autograd/staged.h>
#include <opyard/jit/code.h>
#include <opyard/jit/differentiate.h>
#include <opyard/jit/trace.h>
#include <opyard/library.h>
#include <opyard/models/model.h>
#include <opyard/models/npy.h>
#include <opyard/plugin/plugin.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace opyard;

constexpr std::int64_t kBatch = 64;
constexpr double kRate = 0.5;

// ---- operators that the program calls itself

Tensor rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  using Rows = Tensor(const Tensor&, std::int64_t, std::optional<std::int64_t>,
                      std::optional<std::int64_t>, std::int64_t);
  return require_operator("aten::slice.Tensor").typed<Rows>().call(tensor, 0, begin, end, 1);
}

Tensor negative_log_likelihood(const Tensor& scores, const Tensor& labels) {
  using Loss = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&, std::int64_t,
                      std::int64_t);
  const auto loss = require_operator("aten::nll_loss").typed<Loss>();
  return loss.call(scores, labels, std::nullopt, 1, -100);
}

Tensor most_likely(const Tensor& scores) {
  using ArgMax = Tensor(const Tensor&, std::optional<std::int64_t>, bool);
  return require_operator("aten::argmax").typed<ArgMax>().call(scores, 1, false);
}

void descend(const Tensor& parameter, const Tensor& gradient) {
  using Subtract = Tensor&(Tensor&, const Tensor&, const Scalar&);
  Tensor written = parameter;  // the same memory
  require_operator("aten::sub_.Tensor").typed<Subtract>().call(written, gradient, Scalar(kRate));
}

// ---- the model

Tensor scores_of(jit::Model& model, const Tensor& images) {
  const Value input = images;
  return jit::run_model(model, {&input, 1}).at(0).to_tensor();
}

// The share of images whose label is the most likely one.
double accuracy(jit::Model& model, const Tensor& images, const Tensor& labels) {
  const autograd::NoGradGuard off;
  const Tensor found = most_likely(scores_of(model, images));
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    right += std::int64_t{found.data<std::int64_t>()[i] == labels.data<std::int64_t>()[i]};
  }
  return double(right) / double(labels.numel());
}

// The loss of a batch as a graph of two stages: the loss, and its derivatives by the parameters.
class Step {
 public:
  Step(jit::Model& model, const Tensor& images, const Tensor& labels) {
    for (const jit::StateTensor& each : model.state) {
      if (each.is_parameter) parameters_.push_back(each.tensor);
    }
    std::vector<Tensor> inputs = parameters_;
    inputs.insert(inputs.end(), {images, labels});
    // The model's own tensors are inputs of the trace, by which it knows them.
    const jit::GraphPtr graph = jit::trace(
        [&](std::span<const Tensor> given) {
          const Tensor& of = given[given.size() - 2];
          return std::vector{negative_log_likelihood(scores_of(model, of), given.back())};
        },
        inputs, {.where = {}, .parts = true});
    const jit::GraphPtr both = graph->copy();
    const auto all = both->inputs();
    const std::vector<jit::Value*> wrt(all.begin(),
                                       all.begin() + std::ptrdiff_t(parameters_.size()));
    const jit::passes::Differentiated made = jit::passes::differentiate(*both, wrt);
    staged_ = make_counted<autograd::Staged>("loss", jit::compile(graph), jit::compile(both),
                                             made.wrt, made.outputs);
    for (const Tensor& parameter : parameters_) autograd::require_gradient(parameter);
  }

  // Changes the parameters, and gives the loss before that.
  double run(const Tensor& images, const Tensor& labels) const {
    std::vector<Value> inputs(parameters_.begin(), parameters_.end());
    inputs.emplace_back(images);
    inputs.emplace_back(labels);
    Value loss;
    staged_->run(inputs, {&loss, 1});
    const Tensor root = loss.to_tensor();
    const auto gradients = autograd::grad({&root, 1}, parameters_);
    const autograd::NoGradGuard off;
    for (std::size_t i = 0; i < parameters_.size(); ++i) descend(parameters_[i], gradients[i]);
    return double(root.data<float>()[0]);
  }

 private:
  std::vector<Tensor> parameters_;
  CountedPtr<autograd::Staged> staged_;
};

int run(char** paths, int epochs) {
  load_library(paths[0]);
  jit::Model model = jit::load_model(paths[1]);
  const Tensor images = jit::load_npy(paths[2]);
  const Tensor labels = jit::load_npy(paths[3]);
  std::printf("accuracy %.3f\n", accuracy(model, images, labels));
  const std::int64_t count = labels.numel() / kBatch;
  const Step step(model, rows(images, 0, kBatch), rows(labels, 0, kBatch));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = i * kBatch, end = begin + kBatch;
      sum += step.run(rows(images, begin, end), rows(labels, begin, end));
    }
    std::printf("epoch %d: loss %.4f\n", epoch, sum / double(count));
  }
  jit::save_model(model, paths[4]);
  jit::Model again = jit::load_model(paths[4]);
  std::printf("saved and loaded: accuracy %.3f\n", accuracy(again, images, labels));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    std::fprintf(stderr, "%s KERNELS MODEL IMAGES LABELS RESULT [EPOCHS]\n", arguments[0]);
    return 2;
  }
  try {
    return run(arguments + 1, count > 6 ? std::atoi(arguments[6]) : 10);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
